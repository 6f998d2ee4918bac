// SPDX-License-Identifier: Apache-2.0
export { lockNameOf } from '../src/names.ts';
