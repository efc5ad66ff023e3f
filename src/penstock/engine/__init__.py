"""The window loop: recover, plan, stage, prove, decide, publish, done."""
