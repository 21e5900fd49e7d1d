# METADATA
# title: Protected resources
# description: Nothing under these beginnings is read, whatever the path is written like.
package chalk.policy

protected := {"file:///srv/keys/", "file:///srv/payroll/"}

deny contains message if {
	input.request.method == "resources/read"
	some beginning in protected
	startswith(lower(urlquery.decode(input.gateway.upstream_uri)), beginning)
	message := sprintf("what is under %s is protected", [beginning])
}

# A path that climbs could end anywhere, and one that cannot be decoded too.
deny contains "the path of the resource is not plain" if {
	input.request.method == "resources/read"
	not plain
}

plain if not contains(urlquery.decode(input.gateway.upstream_uri), "/..")
