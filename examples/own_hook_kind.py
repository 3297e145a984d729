"""A kind of external hooks of your own: hook files may then say `"type": "words"`, and no process is started."""

import asyncio
import json
import tempfile
from pathlib import Path

from dshhooks import Harness, hookimpl
from dshhooks.bridge import BridgeOptions, Handlers, HookRuntime, Job, RawResult


class Words:
    """Refuses a call whose payload holds one of the hook's words; answers like a process would: exit code, stderr."""

    async def run(self, job: Job) -> RawResult:
        payload = job.body.decode()
        found = [word for word in job.hook.fields.get("words", ()) if word in payload]
        return RawResult(2, stderr=f"these words are not for agents: {', '.join(found)}") if found else RawResult(0)


class WordsPlugin:
    """What an installed plugin would do."""

    @hookimpl
    def register_bridge_handlers(self, handlers: Handlers) -> None:
        handlers.register("words", Words)


HOOKS = {
    "version": 1,
    "events": {"tool:before": [{"matcher": "Bash", "hooks": [{"type": "words", "words": ["prod-db", "payroll"]}]}]},
}


async def main(folder: Path) -> None:
    """Run two events through a native hook file."""
    file = folder / "dsh-hooks.json"
    file.write_text(json.dumps(HOOKS))
    async with Harness.open(plugins=[WordsPlugin]) as harness:
        runtime = HookRuntime(BridgeOptions(config_path=file), handlers=Handlers.of(harness.hooks))
        for command in ("ls", "psql prod-db"):
            payload = {"tool_name": "Bash", "tool_input": {"command": command}}
            outcome = (await runtime.dispatch("PreToolUse", payload)).outcome
            print(f"{command}: {outcome.decision}", outcome.reason or "")


with tempfile.TemporaryDirectory() as place:
    asyncio.run(main(Path(place)))
