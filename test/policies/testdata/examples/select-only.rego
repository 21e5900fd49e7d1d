# METADATA
# title: SELECT statements only
# description: The database tool runs one SELECT statement and nothing else.
package chalk.policy

query if {
	input.request.method == "tools/call"
	input.gateway.backend == "warehouse"
	input.gateway.upstream_tool == "query"
}

# A rule without arguments, so that "not" holds where there is no statement too.
# A semicolon may only end it, and comments could hide others.
selects if {
	sql := input.request.params.arguments.sql
	regex.match(`(?is)^\s*select\s[^;]*;?\s*$`, sql)
	not contains(sql, "--")
	not contains(sql, "/*")
	not regex.match(`(?i)\binto\b`, sql)
}

deny contains "only SELECT statements may be run" if {
	query
	not selects
}
