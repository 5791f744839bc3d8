"""Flat plans over whole blocks: one kernel looks at every event and keeps those that meet a run or begin one."""
