# METADATA
# title: People only
# description: The payroll server is for people, not for service tokens or other machines.
package chalk.policy

deny contains "payroll is for people only" if {
	input.gateway.backend == "payroll"
	input.auth.kind != "user"
}
