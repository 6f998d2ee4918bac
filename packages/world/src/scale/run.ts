// SPDX-License-Identifier: Apache-2.0
/**
 * The world with many objects and a storm, measured: `run.ts [--claims=20000] [--nodes=500]`. Also with a twentieth of that, to compare.
 * Writes the table of bench/README.md; with other sizes it only prints it.
 *
 * Invariants are not looked at: at every step that would take longer than the rest. Everything has to come to its end all the same.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measurePhases, type Phase } from './phases.ts';

const { values } = parseArgs({
  options: { claims: { type: 'string', default: '20000' }, nodes: { type: 'string', default: '500' } },
});
const claims = Number(values.claims);
const nodes = Number(values.nodes);
const page = join(import.meta.dirname, '../../../../bench/README.md');
const factor = 20;

// The code is compiled when it counts.
await measurePhases({ claims: 200, nodes: 5 });
const small = await measurePhases({ claims: claims / factor, nodes: nodes / factor });
const large = await measurePhases({ claims, nodes });
const table = [
  ...tableOf(small, claims / factor, nodes / factor),
  '',
  ...tableOf(large, claims, nodes),
  '',
  ...growth(),
];
process.stdout.write(`${table.join('\n')}\n`);
if (claims === 20_000 && nodes === 500) {
  const text = readFileSync(page, 'utf8');
  const [before = '', after = ''] = text.split(/<!-- scale: begin -->[^]*<!-- scale: end -->/);
  const machine = `Node.js ${process.version}; machine ${cpus().length} cores (${cpus()[0]?.model.split(' ').slice(0, 2).join(' ')}).`;
  writeFileSync(
    page,
    `${before}<!-- scale: begin -->\n\n${machine}\n\n${table.join('\n')}\n\n<!-- scale: end -->${after}`,
  );
}
// Their listeners would keep the process alive.
process.exit(0);

function tableOf(phases: readonly Phase[], objects: number, nodeCount: number): readonly string[] {
  const rows = phases.map(({ name, seconds, calls, requests, cpuMs, depths, memoryMiB }) => {
    const depth = depths.map(([queue, most]) => `${queue} ${most}`).join(', ');
    return `| ${name} | ${seconds} s | ${calls} | ${requests} | ${(cpuMs / objects).toFixed(2)} ms | ${depth} | ${memoryMiB} MiB |`;
  });
  return [
    `| ${objects} claims, ${nodeCount} nodes | until quiet, virtual | calls | requests | CPU of our programs per claim | longest queues | memory of it all |`,
    '| --- | ---: | ---: | ---: | ---: | --- | ---: |',
    ...rows,
  ];
}

function growth(): readonly string[] {
  const rows = large.map(({ name, cpuMs }, index) => {
    const ratio = cpuMs / claims / (small[index]!.cpuMs / (claims / factor));
    return `| ${name} | ${ratio.toFixed(2)} |`;
  });
  const total = (phases: readonly Phase[]): number => phases.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
  const all = total(large) / claims / (total(small) / (claims / factor));
  rows.push(`| all | ${all.toFixed(2)} |`);
  return [`| CPU per claim, ${claims} / ${claims / factor} | |`, '| --- | ---: |', ...rows];
}
