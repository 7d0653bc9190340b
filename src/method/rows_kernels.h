/* ROWS as lists on a GPU, declared once for C and GLSL. Beside the bitmap each block has a list of as many bytes as one
 * line of memory, so that few rows are written and read without the bits of all others. What the device has counted in
 * the block decides: more rows than a list has room for are in its bitmap, which is written then only. */
#ifndef RQL_METHOD_ROWS_KERNELS_H
#define RQL_METHOD_ROWS_KERNELS_H

/* A list has up to one line of memory: beyond it, a step for each row takes longer than the bytes that are spared. */
#define RQL_ROWS_LIST_MOST 32u
#define RQL_ROWS_LIST_BYTES 64u      /* numbers of rows in the block, 16 bits each, ascending */
#define RQL_ROWS_LIST_END 0xffffu    /* behind the last one, all of them */
#define RQL_ROWS_LIST_BITMAP 0xfffeu /* all of them: the rows are in the block's bitmap */
#define RQL_ROWS_LISTS_MOST (1u << 20) /* blocks of a snapshot: whoever reads lists numbers all of them */

#endif
