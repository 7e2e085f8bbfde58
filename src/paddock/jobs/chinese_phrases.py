CHINESE_PHRASES: dict[str, str] = {}
