// A host of opencode plugins, as small as can be: calls hooks as they are listed on stdin and says what became of it.
import { readFileSync } from "node:fs"

const { plugin, directory, calls } = JSON.parse(readFileSync(0, "utf8"))
const exported = Object.values(await import(plugin))
const hooks = {}
for (const make of exported) Object.assign(hooks, await make({ directory, worktree: directory, project: {}, client: {} }))

const results = []
for (const { hook, input, output } of calls) {
  try {
    await hooks[hook](input, output)
    results.push({ output })
  } catch (error) {
    results.push({ thrown: error instanceof Error ? error.message : String(error), output })
  }
}
process.stdout.write(JSON.stringify({ exports: exported.length, hooks: Object.keys(hooks), results }))
