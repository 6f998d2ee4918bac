// SPDX-License-Identifier: Apache-2.0
// `node --hash-seed=1 --random-seed=1 scripts/code-cache.mjs PATH FLAGS`: writes PATH.<architecture>.cache, what V8 makes of PATH.js, for
// a process of this architecture with these flags of V8. Seeds make the bytes the same in each build; they are taken back before, because V8 refuses a cache of a process with
// other flags than its own.
import { readFileSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';

const [, , path, flags] = process.argv;
setFlagsFromString(`--hash-seed=0 --random-seed=0 ${flags}`);
const filename = `${path}.js`;
writeFileSync(
  `${path}.${process.arch}.cache`,
  new Script(readFileSync(filename, 'utf8'), { filename }).createCachedData(),
);
