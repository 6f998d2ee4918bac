// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run sanity`: csi-sanity, the judge of CSI drivers, against packages/test-driver as a program (or `CSI_DRIVER_BIN`), once
 * with file systems and once with block devices. Prints its output, passes its exit code on, counts its specs.
 * Arguments after `--` go to csi-sanity, for example `-ginkgo.focus=Snapshot`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@csi-sidecars/runtime';
import { startDriver } from '../driver/driver.ts';
import { onInterrupt } from '../interruption.ts';
import { repositoryRoot } from '../processes/program.ts';
import { ensureTools } from '../tools/ensure-tools.ts';
import { add, countSpecs, skippedSpecs, type SpecCounts } from './specs.ts';

const accessTypes = ['mount', 'block'] as const;
type AccessType = (typeof accessTypes)[number];

/** The only one that the driver accepts, so that others can be refused. */
const mutableParameter = 'iops';

const signal = onInterrupt();
const clock = systemClock();
const tools = await ensureTools(['csi-sanity']);
const reports = join(repositoryRoot, 'reports');
mkdirSync(reports, { recursive: true });

let total: SpecCounts = { passed: 0, failed: 0, skipped: 0, notApplicable: 0 };
let exitCode = 0;
for (const accessType of accessTypes) {
  const { code, report } = await judge(accessType);
  const counts = countSpecs(report);
  for (const spec of skippedSpecs(report)) process.stdout.write(`${spec}\n`);
  process.stdout.write(
    `csi-sanity (${accessType}): ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped, ${counts.notApplicable} not applicable\n`,
  );
  total = add(total, counts);
  exitCode ||= code;
}
writeFileSync(join(reports, 'sanity.json'), JSON.stringify(total));
// A spec that no declared reason leaves out would hide what the driver cannot do.
process.exitCode = exitCode || Math.min(total.skipped, 1);

async function judge(accessType: AccessType): Promise<{ readonly code: number; readonly report: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'csi-sanity-'));
  await using cleanUp = new AsyncDisposableStack();
  cleanUp.defer(() => rmSync(folder, { recursive: true, force: true }));
  const place = { name: 'sanity.e2e.csi.test', folder, logs: join(reports, 'sanity') };
  const patience = { clock, factor: 1, signal };
  const options = {
    flags: [
      '--enable-topology=true',
      '--max-volumes-per-node=5',
      `--accepted-mutable-parameter-names=${mutableParameter}`,
    ],
  };
  const driver = await startDriver(place, options, { clock, env: process.env, patience });
  cleanUp.use(driver.process);

  const parameters = join(folder, 'mutable-parameters.yaml');
  writeFileSync(parameters, `${mutableParameter}: "5000"\n`);
  const report = join(folder, 'report.json');
  const judging = spawn(
    tools['csi-sanity'],
    [
      `-csi.endpoint=unix://${driver.socket}`,
      `-csi.testvolumeaccesstype=${accessType}`,
      `-csi.testvolumemutableparameters=${parameters}`,
      '-csi.testnodevolumeattachlimit',
      `-csi.mountdir=${join(folder, 'target')}`,
      `-csi.stagingdir=${join(folder, 'staging')}`,
      `-ginkgo.json-report=${report}`,
      '-ginkgo.no-color',
      ...process.argv.slice(2),
    ],
    { stdio: ['ignore', 'inherit', 'inherit'], signal },
  );
  const [code] = (await once(judging, 'exit')) as [number | null];
  return { code: code ?? 1, report: readFileSync(report, 'utf8') };
}
