from dshhooks import Ask, Deny, hookimpl


class NoSecrets:
    """Denies reading key files; asks before anything touches the network."""

    @hookimpl
    def tools_pre_execute(self, execution):
        text = repr(execution.arguments)
        if ".pem" in text or "id_rsa" in text:
            return Deny("key files stay where they are")
        if execution.name == "bash" and "curl" in text:
            return Ask("this command talks to the network")
        return None  # no opinion: the other plugins decide
