// SPDX-License-Identifier: Apache-2.0
export { lockName } from '../src/names.ts';
