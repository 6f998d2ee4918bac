// SPDX-License-Identifier: Apache-2.0
/**
 * csi-node-driver-registrar and livenessprobe beside upstream's, and both of ours in one process: their memory, idle and
 * during a health check every second for a minute, and how fast they start. Writes its section of bench/README.md.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTestDriver } from '@csi-sidecars/test-driver';
import { repositoryRoot } from '@csi-sidecars/e2e';
import { machine, rewriteSection } from '../page.ts';
import { ratio, table } from '../side-by-side/report.ts';
import { type Weight, weigh } from './weigh.ts';

const isQuick = process.argv.includes('--quick');
const upstream = process.env['UPSTREAM_BIN'] ?? '';
const ours = join(repositoryRoot, 'dist', 'bin');
const ports = { registrar: 29_811, livenessprobe: 29_812 };

const folder = await mkdtemp(join(tmpdir(), 'node-programs-'));
try {
  await mkdir(join(folder, 'reg'));
  await using driver = await startTestDriver({ folder });
  const address = `--csi-address=${driver.socket}`;
  const registration = ['--kubelet-registration-path=/csi.sock', `--plugin-registration-path=${join(folder, 'reg')}`];
  const programs: Readonly<Record<string, { readonly args: readonly string[]; readonly ports: readonly number[] }>> = {
    'csi-node-driver-registrar': {
      args: [address, ...registration, `--http-endpoint=127.0.0.1:${ports.registrar}`],
      ports: [ports.registrar],
    },
    livenessprobe: {
      args: [address, `--http-endpoint=127.0.0.1:${ports.livenessprobe}`],
      ports: [ports.livenessprobe],
    },
    'csi-sidecars node': {
      args: [
        'node',
        address,
        ...registration,
        `--registrar-http-endpoint=127.0.0.1:${ports.registrar}`,
        `--livenessprobe-http-endpoint=127.0.0.1:${ports.livenessprobe}`,
      ],
      ports: [ports.registrar, ports.livenessprobe],
    },
  };
  const rows: (readonly string[])[] = [];
  for (const [name, { args, ports: asked }] of Object.entries(programs)) {
    const binary = name.split(' ')[0] ?? name;
    const measure = (bin: string): Promise<Weight> =>
      weigh({ command: join(bin, binary), args, ports: asked, checks: isQuick ? 5 : 60 });
    rows.push(
      ...rowsOf(name, await measure(ours), upstream === '' || binary !== name ? undefined : await measure(upstream)),
    );
  }
  const head = ['', 'ours', 'upstream', 'ours / upstream'];
  const section = `Node.js ${process.version}; ${machine}.\n\n${table(head, rows)}`;
  console.log(section);
  if (!isQuick) rewriteSection('node-programs', section);
} finally {
  await rm(folder, { recursive: true, force: true });
}

function rowsOf(name: string, own: Weight, theirs: Weight | undefined): readonly (readonly string[])[] {
  const titles: readonly (readonly [keyof Weight, string, string])[] = [
    ['startMs', 'start to healthy', 'ms'],
    ['idleAnonMib', 'anonymous memory, idle after start', 'MiB'],
    ['askedAnonMib', 'anonymous memory, asked every second for a minute', 'MiB'],
    ['askedRssMib', 'RSS then', 'MiB'],
    ['cpuMsPerCheck', 'CPU time per check', 'ms'],
  ];
  return titles.map(([key, title, unit]) => {
    const cells = [own, theirs].map((weight) => (weight === undefined ? '-' : `${weight[key].toFixed(1)} ${unit}`));
    return [`${name}: ${title}`, ...cells, ratio(own[key], theirs?.[key])];
  });
}
