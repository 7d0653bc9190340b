layout(buffer_reference, scalar, buffer_reference_align = 4) buffer rql_word32 {
	uint v;
};
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer rql_wordf {
	float v;
};
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer rql_word64 {
	uint64_t v;
};
