// SPDX-License-Identifier: Apache-2.0
/** Says which test reaches which mutant. Loaded before every test file of a mutation run. */
import { afterEach, beforeEach } from 'vitest';

beforeEach(({ task }) => globalThis.__mutationTest.begin(task.id));
afterEach(() => globalThis.__mutationTest.end());
