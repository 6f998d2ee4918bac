// SPDX-License-Identifier: Apache-2.0
/** Opens the resources of a run: folders, a control plane, the programs to test. The given stack disposes of them. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiClient, silentLogger, systemClock, systemRandom } from '@csi-sidecars/runtime';
import { withConsent } from '../control-planes/node/consent.ts';
import { startControlPlane } from '../control-planes/start-control-plane.ts';
import { findProgram, repositoryRoot } from '../processes/program.ts';
import { machineNeedsMet, type TestRun } from '../scenarios/test-run.ts';
import type { Environment } from '../tools/locate.ts';
import { reportName, type RunnerOptions } from './options.ts';

export async function openTestRun(options: RunnerOptions, stack: AsyncDisposableStack): Promise<TestRun> {
  const clock = systemClock();
  const env = environmentFor(options);
  const { origin } = findProgram('csi-provisioner', env);
  const reports = join(repositoryRoot, 'reports', reportName(options));
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), 'csi-e2e-'));
  stack.defer(() => rmSync(scratch, { recursive: true, force: true }));
  const controlPlane = stack.use(
    await startControlPlane(options.controlPlane, {
      clock,
      env,
      folder: join(reports, 'control-plane'),
      kubernetes: options.kubernetes,
    }),
  );
  return {
    controlPlane,
    api: createApiClient(
      { transport: controlPlane.admin, clock, logger: silentLogger },
      { userAgent: 'csi-sidecars-e2e', qps: -1, burst: 0 },
    ),
    clock,
    rbac: options.rbac,
    programs: origin,
    env,
    upstream: nonEmpty(process.env['UPSTREAM_BIN']),
    seed: options.seed ?? Math.trunc(systemRandom().next() * 2 ** 31),
    load: options.load,
    reports,
    scratch,
    timeFactor: Number(env['E2E_TIME_FACTOR'] ?? '1'),
    has: new Set([
      ...controlPlane.has,
      ...machineNeedsMet(process.env),
      ...(origin === 'upstream' ? [] : (['own-clocks'] as const)),
      ...(options.load === 'full' ? (['time'] as const) : []),
    ]),
  };
}

function environmentFor({ programs, systemChanges }: RunnerOptions): Environment {
  const { UPSTREAM_BIN: folder = '', ...rest } = process.env;
  const env = systemChanges === 'allowed' ? withConsent(rest) : rest;
  return programs === 'ours' ? env : { ...env, UPSTREAM_BIN: folder };
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
