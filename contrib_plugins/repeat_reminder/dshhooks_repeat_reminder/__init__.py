"""Tells an agent when it makes the same tool call again and again."""

from __future__ import annotations

from dshhooks_repeat_reminder.options import RepeatReminderOptions
from dshhooks_repeat_reminder.plugin import RepeatReminder

__all__ = ["RepeatReminder", "RepeatReminderOptions"]
