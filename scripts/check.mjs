// SPDX-License-Identifier: Apache-2.0
// `npm run check`: format, lint, types, architecture, drift of generated files. The first part of `npm test`.
import { ensureInstalled, run } from './setup.mjs';

ensureInstalled();

const steps = [
  { name: 'format', command: 'oxfmt --check' },
  { name: 'lint', command: 'oxlint --type-aware --deny-warnings' },
  { name: 'types', command: 'tsc -p tsconfig.json' },
  {
    name: 'architecture, documents and judged mutants',
    command:
      'vitest run --reporter=dot architecture.test.ts assertions.test.ts docs.test.ts scripts/mutation/page.test.ts',
  },
  { name: 'generated files', command: 'node scripts/drift.mjs' },
];

for (const { name, command } of steps) {
  const started = performance.now();
  const [program, ...args] = command.split(' ');
  const code = run(program, args);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(`check: ${name} ${code === 0 ? 'ok' : 'FAILED'} (${seconds} s)\n`);
  if (code !== 0) process.exit(1);
}
