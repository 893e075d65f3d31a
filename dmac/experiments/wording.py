"""Words of the sentences on the experiment pages: lists, amounts and their signs."""

#: Where there is nothing to say yet.
NOTHING = "The runs that this compares are not stored yet."


def listed(names):
    """Names with commas between them and an "and"."""
    names = [str(name) for name in names]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def lines(sentences):
    """Several sentences as a list, one as itself."""
    if len(sentences) < 2:
        return "".join(sentences) or NOTHING
    return "\n".join(f"- {sentence}" for sentence in sentences)


def sets(count):
    """A number of data sets."""
    return f"{count} data set{'' if count == 1 else 's'}"


def points(x):
    """A difference of percentages, without its sign."""
    text = f"{abs(x):.1f}"
    return f"{text} point{'' if text == '1.0' else 's'}"


def than(x):
    """How far a value lies from another, in words."""
    return f"{points(x)} {'more' if x > 0 else 'less'}"


def percent(fraction):
    """A fraction in whole percent."""
    return f"{100 * fraction:.0f} %"
