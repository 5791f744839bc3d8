"""explain"""
from saffron.language.plan import Plan


def explain_text(plan: Plan) -> str:
    return repr(plan)
