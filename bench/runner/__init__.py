# SPDX-License-Identifier: MIT
"""The parts of run.py: jobs (what runs), progress, results (what came out), report (tables), plots, environment."""
