"""What a command writes is judged when it, or a tool that picks the file up by itself, runs it; what options hold is seen."""

from __future__ import annotations

import pytest
from hookspecs.decisions import Allow, Ask, Deny

from dshhooks_shell_policy import classify


def _stopped(command: str) -> bool:
    return isinstance(classify(command), (Ask, Deny))


def test_appending_keeps_what_was_written_before():
    """A harmless last line does not hide the line before it."""
    assert _stopped("echo 'rm -rf src' > x.sh; echo ls >> x.sh; sh x.sh")
    assert isinstance(classify("echo pwd > x.sh; echo ls >> x.sh; sh x.sh"), Allow)


def test_tee_appends_too():
    """``tee -a`` is another way to write behind what is there."""
    assert _stopped("echo 'rm -rf src' | tee x.sh; echo ls | tee -a x.sh; sh x.sh")


def test_an_edit_does_not_make_a_written_file_harmless():
    """``sed -i`` over a file of this command leaves a file nobody knows."""
    assert _stopped("echo 'rm -rf src' > x.sh; sed -i s/a/b/ x.sh; sh x.sh")


def test_a_descriptor_writes_a_file():
    """What goes through ``exec 3> file`` is not seen, so running the file asks."""
    assert _stopped("exec 3> x.sh; echo 'rm -rf src' >&3; sh x.sh")


def test_a_program_found_through_a_new_path():
    """A file in a directory in front of PATH is what its name means."""
    assert _stopped("mkdir bin; echo 'rm -rf src' > bin/ls; chmod +x bin/ls; PATH=bin:$PATH ls")


@pytest.mark.parametrize(
    "command",
    [
        "echo 'import shutil; shutil.rmtree(\"/srv\")' > m.py; python -c 'import m'",
        "echo 'import shutil; shutil.rmtree(\"/srv\")' > m.py; python app.py",
        'echo \'require("child_process").exec("x")\' > m.js; node -e \'require("./m")\'',
        "echo 'system(\"x y\")' > m.rb; ruby -r./m -e 1",
    ],
)
def test_a_module_this_command_wrote(command):
    """An import runs the file."""
    assert _stopped(command)


def test_a_module_nothing_imports():
    """Code on the command line that does not name the file does not run it."""
    assert isinstance(classify("echo 'import shutil; shutil.rmtree(\"d\")' > m.py; python -c 'print(1)'"), Allow)


def test_a_test_that_starts_its_own_tool():
    """A written test that runs the interpreter again is judged once, not for ever."""
    text = "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'app'])"
    assert isinstance(classify(f"cat > test_a.py <<'EOF'\n{text}\nEOF\npytest test_a.py"), Allow)


@pytest.mark.parametrize(
    ("file", "content", "tool"),
    [
        ("justfile", "default:\n  rm -rf src", "just"),
        ("Taskfile.yml", "tasks:\n  default: rm -rf src", "task"),
        ("Procfile", "web: rm -rf src", "foreman start"),
        ("tox.ini", "[testenv]\ncommands = rm -rf src", "tox"),
        (".pre-commit-config.yaml", "    entry: rm -rf src", "pre-commit run"),
        ("composer.json", '{"scripts": {"x": "rm -rf src"}}', "composer x"),
        ("build.xml", '<exec executable="rm"><arg line="-rf src"/></exec><x>rm -rf src</x>', "ant"),
    ],
)
def test_files_of_task_runners(file, content, tool):
    """A runner gives the lines of its file to a shell."""
    assert _stopped(f"cat > {file} <<'EOF'\n{content}\nEOF\n{tool}")


def test_a_harmless_task_file():
    """Writing a task file and running it is everyday work."""
    assert isinstance(classify("cat > justfile <<'EOF'\ntest:\n  cargo test\nEOF\njust test"), Allow)


def test_a_fetched_tree_is_not_built_unseen():
    """Building what the same command cloned runs code nobody has looked at; looking at it passes."""
    assert isinstance(classify("git clone https://h.example/r && cd r && make"), Ask)
    assert isinstance(classify("git clone https://h.example/r && cd r && ls"), Allow)


@pytest.mark.parametrize(
    "command",
    [
        "asdf exec rm -rf src",
        "anything --pager 'rm -rf src' file",
        "anything watch -s 'rm -rf src'",
        "anything -q 'drop table users'",
        "anything --on-change='rm -rf src'",
        "anything --globalSetup /tmp/x.js",
        "anything -c /tmp/x.py",
        "anything --output ~/.bashrc",
        "anything --show-secrets",
        "anything stream rm x --force",
    ],
)
def test_what_arguments_of_any_program_give_away(command):
    """No rule knows the program; its arguments tell."""
    assert _stopped(command)


def test_no_word_is_dropped_unseen():
    """A substitution behind thousands of words is judged like the first one."""
    assert isinstance(classify("echo " + "a " * 5000 + "$(rm -rf src)"), Deny)
    assert _stopped("[[ " + "! " * 5000 + "-v 'a[$(rm -rf src)]' ]]")


def test_long_commands_use_up_the_budget():
    """Wrappers around thousands of words are given up on, with a question."""
    assert _stopped("x run " + "sudo run " * 5000 + "ls")


@pytest.mark.parametrize("target", ["main.py", "package.json", "app.db", "~/notes/a.md"])
def test_emptying_a_file(target):
    """Redirecting nothing into a source, a data base or a file outside loses what is in it."""
    assert isinstance(classify(f": > {target}"), Ask)
    assert isinstance(classify(f": >> {target}"), Allow)
