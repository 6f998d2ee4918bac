// SPDX-License-Identifier: Apache-2.0
/** csi-sidecars from source. Its bundle chooses between the same two files, see scripts/bundle.ts. */
if (process.argv[2] === 'node') await import('./main-node.ts');
else await import('./main-all.ts');
