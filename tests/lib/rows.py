"""Tables whose rows take a moment each are gone through by one test: a test a row costs more than what it asks."""

__all__ = ["every"]


def every(check, rows):
    """Call `check` with each row, and fail with all of those that it refused, by name."""
    failed, seen = [], 0
    for row in rows:
        seen += 1
        try:
            check(row)
        except Exception as error:
            error.add_note(f"row: {getattr(row, 'name', row)}")
            failed.append(error)
    assert seen, "there are no rows"
    if failed:
        raise ExceptionGroup(f"{check.__name__}: {len(failed)} of {seen} rows", failed)
