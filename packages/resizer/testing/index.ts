// SPDX-License-Identifier: Apache-2.0
export { someSettings } from './builders.ts';
export { lockNameOf } from '../src/names.ts';
