// Package policies tries out who may call what: example policies with the
// documents they are asked about, a table of decisions, and what must hold for
// any configuration. It asks shared/policy alone, in the order of the pipeline.
package policies
