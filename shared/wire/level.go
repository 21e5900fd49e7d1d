package wire

import "encoding/json"

// LevelInfo is the level of log messages that say none, and the one from which
// on they are sent to those who set none.
const LevelInfo = "info"

// rank is the place of a level among the eight of log messages, the least
// severe first (RFC 5424, 6.2.1; MCP 2026-07-28, server/utilities/logging); -1
// for a word that is none of them.
func rank(level string) int {
	switch level {
	case "debug":
		return 0
	case LevelInfo:
		return 1
	case "notice":
		return 2
	case "warning":
		return 3
	case "error":
		return 4
	case "critical":
		return 5
	case "alert":
		return 6
	case "emergency":
		return 7
	}
	return -1
}

// IsLevel reports whether a word is a level of log messages.
func IsLevel(level string) bool { return rank(level) >= 0 }

// Level is the level that the params of logging/setLevel or of a log message
// name; false where it is none of the eight.
func Level(params json.RawMessage) (string, bool) {
	raw, ok := Member(params, "level")
	if !ok || len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	level := string(unquote(raw))
	return level, IsLevel(level)
}

// Reaches reports whether a log message with these params is as severe as least
// or more so. One that names no level counts as [LevelInfo]; to a least that is
// no level none comes.
func Reaches(params json.RawMessage, least string) bool {
	level, ok := Level(params)
	if !ok {
		level = LevelInfo
	}
	return IsLevel(least) && rank(level) >= rank(least)
}
