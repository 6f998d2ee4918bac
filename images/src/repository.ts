// SPDX-License-Identifier: Apache-2.0
import { join } from 'node:path';

export const repositoryRoot: string = join(import.meta.dirname, '..', '..');
