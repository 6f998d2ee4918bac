// SPDX-License-Identifier: Apache-2.0
/** A start with work waiting, then the memory and CPU time of idling. */
import { readFileSync } from 'node:fs';
import { eventually } from '@csi-sidecars/e2e';
import type { Recording } from './measures.ts';
import type { Options } from './options.ts';
import type { BenchEnvironment } from './environment.ts';
import { recordMemory } from './idle-memory.ts';
import { cpuSeconds } from './process-cost.ts';

export interface FirstWork {
  /** The call that the waiting work causes. */
  readonly method: string;
  readonly served: () => Promise<void>;
}

export async function measureStart(
  environment: BenchEnvironment,
  { method, served, settleMs }: FirstWork & Pick<Options, 'settleMs'>,
  to: Recording,
): Promise<void> {
  const { process, spawnedAtMs } = await environment.startSidecar();
  await served();
  const lease = environment.requests().find(({ resource }) => resource === 'leases');
  const leaseAtMs = lease?.receivedAtMs;
  if (leaseAtMs !== undefined) to.record('startLease', leaseAtMs - spawnedAtMs);
  const callAtMs = await firstCallAtMs(environment, method);
  if (callAtMs !== undefined) to.record('startCall', callAtMs - spawnedAtMs);

  await recordMemory(environment, { pid: process.pid, as: 'Idle', settleMs }, to);
  to.record('cpuStart', cpuSeconds(process.pid));
}

/** Read from the journal of our driver, or from the log of the hostpath driver. Undefined for any other driver. */
async function firstCallAtMs({ driver, cluster }: BenchEnvironment, method: string): Promise<number | undefined> {
  const foreign = (cluster.env['CSI_DRIVER_BIN'] ?? '') !== '';
  if (!foreign) {
    const calls = await driver.control.calls();
    return calls.find((call) => call.method.endsWith(`/${method}`))?.beganAtMs;
  }
  return await eventually(cluster.patience, {
    what: 'the driver has written its log',
    timeoutMs: 5000,
    check: () => klogTimeMs(readFileSync(driver.process.logFile, 'utf8'), method, cluster.clock.nowMs()),
  }).catch(() => undefined);
}

/** A line such as `I0102 15:04:05.678901    1234 server.go:1] GRPC call: /csi.v1.Controller/CreateVolume`, in local time. */
function klogTimeMs(log: string, method: string, nowMs: number): number | undefined {
  const line = new RegExp(`^[IWE](\\d\\d)(\\d\\d) (\\d\\d:\\d\\d:\\d\\d\\.\\d{3})\\S* .*Controller/${method}`, 'm');
  const match = line.exec(log);
  if (match === null) return undefined;
  return Date.parse(`${new Date(nowMs).getFullYear()}-${match[1]}-${match[2]}T${match[3]}`);
}
