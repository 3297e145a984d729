// A host in another language: 10,000 dispatches with garbage between them, every answer checked against its request.
// Usage: node driver.mjs COMMAND ARGUMENT...; prints one JSON object that says what was asked and what was wrong.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const DISPATCHES = 10000, HOOK_EVERY = 25, AHEAD = 500;
const HUGE = Buffer.concat([Buffer.from('"'), Buffer.alloc(17 << 20, "x"), Buffer.from('"\n')]);
const GARBAGE = ["{not json\n", "[1,2]\n", '{"op":"dance"}\n', '{"op":"dispatch","event":"pretooluse"}\n', "\u0000\n",
                 Buffer.from([0xff, 0xfe, 0x80, 0x0a])];
const BLANK = ["\n", "  \t\r\n"];

const bridge = spawn(process.argv[2], process.argv.slice(3), { stdio: ["pipe", "pipe", "inherit"] });
const answers = createInterface({ input: bridge.stdout })[Symbol.asyncIterator]();
const done = { dispatches: 0, denied: 0, refused: 0, blank: 0, wrong: [] };
const expected = [];

function* requests() {
  for (let id = 0; id < DISPATCHES; id++) {
    if (id % 7 === 3) { done.blank++; yield [BLANK[id % BLANK.length], null]; }
    if (id % 5 === 2) yield [GARBAGE[id % GARBAGE.length], refused];
    if (id % 4000 === 1) yield [HUGE, refused];
    const hooked = id % HOOK_EVERY === 0;
    const payload = { tool_name: hooked ? "Bash" : "Read", number: id };
    yield [JSON.stringify({ op: "dispatch", event: "PreToolUse", payload, id }) + "\n", answered(id, hooked)];
  }
  yield ['{"op":"bye","id":"end"}\n', (answer) => answer.ok === true && answer.id === "end"];
}
const refused = (answer) => { done.refused++; return answer.ok === false && !("id" in answer) && answer.error.length > 0; };
const answered = (id, hooked) => (answer) => {
  const { decision, reason } = answer.outcome ?? {};
  done.dispatches++;
  if (hooked) done.denied++;
  return answer.ok && answer.id === id && answer.runs.length === (hooked ? 1 : 0)
    && (hooked ? decision === "deny" && reason === `no ${id}` : decision === "none");
};

async function check() {
  const [request, right] = expected.shift();
  const { value, done: over } = await answers.next();
  if (over || !right(JSON.parse(value))) done.wrong.push([String(request).slice(0, 80), String(value).slice(0, 200)]);
}

for (const [line, right] of requests()) {
  if (!bridge.stdin.write(line)) await new Promise((resolve) => bridge.stdin.once("drain", resolve));
  if (right) expected.push([line, right]);
  while (expected.length > AHEAD && done.wrong.length < 5) await check();
}
while (expected.length && done.wrong.length < 5) await check();
done.more = (await answers.next()).value ?? null;
done.code = await new Promise((resolve) => bridge.exitCode === null ? bridge.once("exit", resolve) : resolve(bridge.exitCode));
console.log(JSON.stringify(done));
