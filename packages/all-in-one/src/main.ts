// SPDX-License-Identifier: Apache-2.0
/** csi-sidecars from source. Its bundle chooses between the same files, see scripts/bundle.ts. */
import { isCommand } from './commands.ts';

const [, , word] = process.argv;
if (word === 'node') await import('./main-node.ts');
else if (isCommand(word)) await import('./main-commands.ts');
else await import('./main-all.ts');
