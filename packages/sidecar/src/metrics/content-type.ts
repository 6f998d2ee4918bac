// SPDX-License-Identifier: Apache-2.0
/** Apart from registry.ts, which must be imported lazily. */
export const textContentType = 'text/plain; version=0.0.4; charset=utf-8';
