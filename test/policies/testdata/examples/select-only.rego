# METADATA
# title: SELECT statements only
# description: The database tool runs one SELECT statement and nothing else.
package chalk.policy

query if {
	input.request.method == "tools/call"
	input.gateway.backend == "warehouse"
	input.gateway.upstream_tool == "query"
}

# One statement: a semicolon may only end it, and comments could hide others.
selects(sql) if {
	regex.match(`(?is)^\s*select\s[^;]*;?\s*$`, sql)
	not contains(sql, "--")
	not contains(sql, "/*")
	not regex.match(`(?i)\binto\b`, sql)
}

deny contains "only SELECT statements may be run" if {
	query
	not selects(input.request.params.arguments.sql)
}
