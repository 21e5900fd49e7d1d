# METADATA
# title: One owner for one tool
# description: Only the release agent deploys; everybody else is refused.
package chalk.policy

owner := "release-agent"

deployment if {
	input.request.method == "tools/call"
	input.gateway.backend == "deploy"
	input.gateway.upstream_tool == "ship"
}

deny contains message if {
	deployment
	input.auth.subject != owner
	message := sprintf("ship belongs to %s, not to %s", [owner, input.auth.subject])
}
