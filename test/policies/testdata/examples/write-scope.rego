# METADATA
# title: A scope for writes
# description: Tools that are not classified as read need the scope admin:write.
package chalk.policy

deny contains message if {
	input.request.method == "tools/call"
	input.relay.effect != "read"
	not "admin:write" in input.auth.scopes
	message := sprintf("%s writes, which needs the scope admin:write", [input.gateway.upstream_tool])
}
