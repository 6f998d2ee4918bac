// SPDX-License-Identifier: Apache-2.0
export { runAll } from './all/run.ts';
