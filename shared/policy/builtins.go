package policy

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// builtins are the functions that policies can use: those whose value follows
// from their arguments alone. A list of what is allowed, not of what is not, so
// that a newer OPA does not bring policies anything that nobody looked at.
//
// Left out are the network (http.send, net.*), what differs from machine to
// machine or from call to call (opa.runtime, time.now_ns, time zones, rand,
// uuid.rfc4122, io.jwt.*), what writes (trace; the compiler takes print out of a
// policy), keys and certificates,
// what fetches schemas, and what turns a few bytes into very much work or
// memory at once, where no deadline can end it: bits.lsh, yaml aliases,
// graph.reachable_paths, strings.render_template, rego.parse_module, graphql.*,
// and what took more than 150 ms or 100 MB in one step with 0.5 MB of the agent's
// text or 10,000 numbers: json.marshal (0.7 GB), json.marshal_with_options, which
// repeats a prefix on each line, strings.replace_n (0.3 GB), regex.replace,
// regex.find_all_string_submatch_n (0.8 GB), product (0.3 GB), array.flatten,
// strings.any_prefix_match and its like, graph.reachable, object.subset (1 s),
// urlquery.encode_object (0.8 GB). What is in the list is held by boundSteps.
const builtins = `
	all any assign cast_array cast_boolean cast_null cast_object cast_set cast_string
	count eq equal gt gte lt lte max min neq sort sum
	abs and ceil div floor minus mul or plus rem round
	array.concat array.reverse array.slice
	bits.and bits.negate bits.or bits.xor
	base64.decode base64.encode base64.is_valid
	base64url.decode base64url.encode base64url.encode_no_pad
	hex.decode hex.encode
	urlquery.decode urlquery.decode_object urlquery.encode
	crypto.hmac.equal crypto.hmac.md5 crypto.hmac.sha1 crypto.hmac.sha256 crypto.hmac.sha512
	crypto.md5 crypto.sha1 crypto.sha256
	concat contains endswith format_int indexof indexof_n lower replace split sprintf startswith
	strings.count strings.reverse strings.split_n
	substring trim trim_left trim_prefix trim_right trim_space trim_suffix upper
	glob.match glob.quote_meta
	re_match regex.find_n regex.is_valid regex.match regex.split
	walk
	intersection set_diff union
	is_array is_boolean is_null is_number is_object is_set is_string type_name
	json.filter json.is_valid json.patch json.remove json.unmarshal
	numbers.range numbers.range_step to_number
	object.filter object.get object.keys object.remove object.union object.union_n
	semver.compare semver.is_valid
	time.parse_duration_ns time.parse_ns time.parse_rfc3339_ns
	units.parse units.parse_bytes
	uri.is_valid uri.parse uuid.parse
	internal.member_2 internal.member_3 internal.template_string
`

// capabilities are what sources of one version of Rego are compiled with.
func capabilities(version ast.RegoVersion) *ast.Capabilities {
	c := ast.CapabilitiesForThisVersion(ast.CapabilitiesRegoVersion(version))
	names := strings.Fields(builtins)
	c.Builtins = slices.DeleteFunc(c.Builtins, func(b *ast.Builtin) bool { return !slices.Contains(names, b.Name) })
	// Not nil, which would allow any host.
	c.AllowNet = []string{}
	return c
}
