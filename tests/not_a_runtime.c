/* SPDX-License-Identifier: Apache-2.0 */
/* A library, but not ONNX Runtime. */
int not_a_runtime(void);

__attribute__((visibility("default"))) int not_a_runtime(void)
{
    return 0;
}
