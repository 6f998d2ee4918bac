// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const manifest = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8');

/** The tag of our images of this version, which is also the appVersion of the charts. */
export const tag: string = `v${(JSON.parse(manifest) as { readonly version: string }).version}`;
