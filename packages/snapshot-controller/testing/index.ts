// SPDX-License-Identifier: Apache-2.0
export { someSettings } from './builders.ts';
export { lockName } from '../src/names.ts';
