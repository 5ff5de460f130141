/* Any bytes as a frame of the host protocol: refused, or read; and what was read is written as it was. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/hostproto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rv_arena arena = {.max = 64 << 20};
	struct rv_buf frame = {0}, again = {0};
	struct rv_hp_msg m;
	uint32_t len = (uint32_t)size;
	size_t used;

	/* The length is made right, or nearly everything would end at it. */
	rv_buf_add(&frame, &len, sizeof(len));
	rv_buf_add(&frame, data, size);
	if (rv_hp_decode(frame.data, frame.len, &arena, &m, &used) == RV_HP_OK) {
		if (used != frame.len || !rv_hp_encode(&m, &again) || again.len > frame.len)
			abort();
		rv_arena_fini(&arena);
		if (rv_hp_decode(again.data, again.len, &arena, &m, &used) != RV_HP_OK)
			abort();
	}
	rv_arena_fini(&arena);
	rv_buf_fini(&frame);
	rv_buf_fini(&again);
	return 0;
}
