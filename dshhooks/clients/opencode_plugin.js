// Made by `dshhooks install opencode`; `dshhooks uninstall opencode` removes it. Changes made here are lost.
//
// Asks dshhooks before a tool runs and before a prompt is sent. Whatever goes wrong (no answer, half an answer, no
// command) blocks both: opencode does not run a tool whose hook throws.

import { spawn } from "node:child_process"

const COMMAND = "@COMMAND@"
const EVENTS = "@EVENTS@"
// Milliseconds, and characters of an answer.
const TIME_LIMIT = "@TIME_LIMIT@"
const LARGEST = 16 << 20
const ALLOWING = [undefined, null, "allow", "approve"]

const asked = (event) => EVENTS.includes(event)

// Run the command with a payload on its stdin; rejects when there is no end to be had.
function run(payload, cwd) {
  return new Promise((resolve, reject) => {
    const input = JSON.stringify(payload)
    const child = spawn(COMMAND[0], COMMAND.slice(1), { cwd, stdio: ["pipe", "pipe", "pipe"] })
    const said = { out: "", err: "" }
    const giveUp = (why) => {
      clearTimeout(timer)
      child.kill("SIGKILL")
      reject(new Error(`dshhooks could not check this, so it was denied: ${why}`))
    }
    const timer = setTimeout(() => giveUp("it did not answer in time"), TIME_LIMIT)
    for (const [name, stream] of [["out", child.stdout], ["err", child.stderr]]) {
      stream.setEncoding("utf8")
      stream.on("data", (text) => {
        said[name] += text
        if (said[name].length > LARGEST) giveUp("it answered without end")
      })
    }
    child.on("error", (error) => giveUp(error.message))
    child.on("close", (code, signal) => {
      clearTimeout(timer)
      resolve({ ...said, code, signal })
    })
    child.stdin.on("error", () => {}) // it ended without reading: how it ended decides
    child.stdin.end(input)
  })
}

// Return the answer to an event: `denied` is a reason or undefined, `context` is text for the model or undefined;
// `failed` says that it is no decision but what a failure comes to.
async function answer(payload, cwd) {
  const { out, err, code, signal } = await run(payload, cwd)
  const document = parsed(out)
  const reason = document?.reason || document?.hookSpecificOutput?.permissionDecisionReason || err.trim()
  const context = document?.additionalContext || document?.hookSpecificOutput?.additionalContext
  const words = [document?.decision, document?.permissionDecision, document?.hookSpecificOutput?.permissionDecision]
  if (code !== 0) return { denied: reason || `dshhooks ended with ${signal ?? `exit code ${code}`}`, failed: true }
  if (document === undefined) return { denied: "dshhooks gave no usable answer, so this was denied", failed: true }
  if (words.some((word) => word === "ask")) {
    return { denied: `${reason || "this needs a person's approval"} (opencode cannot ask, so it was denied)` }
  }
  const denied = words.every((word) => ALLOWING.includes(word)) ? undefined : reason || "dshhooks denied this"
  return { denied, context }
}

// Return the object an answer is; an empty one for no opinion; undefined for anything else.
function parsed(text) {
  if (text.trim() === "") return {}
  try {
    const value = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

// For events that decide nothing: what goes wrong there is dshhooks' own log's business.
async function observed(payload, cwd) {
  const said = await answer(payload, cwd).catch(() => ({ failed: true }))
  return said.failed ? {} : said
}

export const DshhooksPlugin = async ({ directory }) => {
  const cwd = directory || process.cwd()
  const waiting = new Map() // session -> context its next prompt brings along
  const common = (event, session) => ({ hook_event_name: event, session_id: session ?? "", cwd })
  const call = (event, input, args) => ({
    ...common(event, input.sessionID), tool_name: input.tool, tool_input: args ?? {}, tool_use_id: input.callID ?? "",
  })

  return {
    "tool.execute.before": async (input, output) => {
      if (!asked("tool.execute.before")) return
      const { denied } = await answer(call("tool.execute.before", input, output.args), cwd)
      if (denied !== undefined) throw new Error(denied)
    },

    "tool.execute.after": async (input, output) => {
      if (!asked("tool.execute.after")) return
      const payload = { ...call("tool.execute.after", input, input.args), tool_response: output?.output ?? "" }
      const { denied, context } = await observed(payload, cwd)
      const more = [denied, context].filter(Boolean).join("\n\n")
      if (more && output) output.output = `${output.output ?? ""}\n\n${more}`
    },

    "chat.message": async (input, output) => {
      const texts = (output?.parts ?? []).filter((part) => part.type === "text" && !part.synthetic)
      const more = [waiting.get(input.sessionID)]
      waiting.delete(input.sessionID)
      if (asked("chat.message")) {
        const prompt = texts.map((part) => part.text).join("\n")
        const { denied, context } = await answer({ ...common("chat.message", input.sessionID), prompt }, cwd)
        if (denied !== undefined) throw new Error(denied)
        more.push(context)
      }
      const text = more.filter(Boolean).join("\n\n")
      if (text && texts.length > 0) texts[texts.length - 1].text += `\n\n${text}`
    },

    event: async ({ event }) => {
      if (!asked(event.type) || !["session.created", "session.idle", "session.deleted"].includes(event.type)) return
      const session = event.properties?.sessionID ?? event.properties?.info?.id
      const { context } = await observed({ ...common(event.type, session), source: "startup" }, cwd)
      if (context && event.type === "session.created") waiting.set(session, context)
    },
  }
}
