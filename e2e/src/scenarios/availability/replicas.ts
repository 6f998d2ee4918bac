// SPDX-License-Identifier: Apache-2.0
/** Several replicas of one sidecar on one machine, each with its own host name, and which of them leads. */
import type { Method } from '@csi-sidecars/csi';
import { type Lease, leases } from '@csi-sidecars/runtime';
import { callsOf } from '../../driver/calls.ts';
import type { ServiceAccountRef } from '../../control-planes/control-plane.ts';
import type { ControllerName } from '../../processes/program.ts';
import type { SupervisedProcess } from '../../processes/supervised-process.ts';
import { leaseNameOf } from '../../rbac/profiles.ts';
import type { Environment } from '../../tools/locate.ts';
import type { ScenarioContext } from '../context.ts';
import { subjects } from '../sidecars.ts';

/** Short lease times, so that a take-over takes seconds; the proportions are those of the defaults. */
export const leaseMs = 6000;
export const renewMs = 4000;
export const retryMs = 2000;
/** How long a take-over may take after the leader has ended. */
export const takeOverMs: number = leaseMs + 2.2 * retryMs + 2000;

export interface Replica {
  readonly program: ControllerName;
  readonly name: string;
  readonly process: SupervisedProcess;
}

export interface ReplicaOptions {
  /** Default: csi-provisioner. */
  readonly program?: ControllerName;
  readonly args?: readonly string[];
  /** Arguments of one replica, in addition. */
  readonly argsOf?: (name: string) => readonly string[];
  /** Environment variables in addition. */
  readonly env?: Environment;
  /** Its ServiceAccount instead of the profile's. */
  readonly account?: ServiceAccountRef;
  /** Addresses of the API server by replica, in place of the control plane's own. */
  readonly servers?: Readonly<Record<string, string>>;
  /** The implementation by replica, instead of the one under test. */
  readonly implementations?: Readonly<Record<string, 'ours' | 'upstream'>>;
}

export async function startReplicas(ctx: ScenarioContext, options: ReplicaOptions = {}): Promise<readonly Replica[]> {
  const { program = 'csi-provisioner' } = options;
  const names = ['replica-a', 'replica-b'];
  return await Promise.all(
    names.map(async (name) => ({ program, name, process: await startReplica(ctx, { ...options, name }) })),
  );
}

export async function startReplica(
  ctx: ScenarioContext,
  {
    name,
    program = 'csi-provisioner',
    args = [],
    argsOf = () => [],
    env,
    account,
    servers = {},
    implementations = {},
  }: ReplicaOptions & { readonly name: string },
): Promise<SupervisedProcess> {
  const election = [
    '--leader-election',
    `--leader-election-namespace=${ctx.namespace}`,
    `--leader-election-lease-duration=${leaseMs}ms`,
    `--leader-election-renew-deadline=${renewMs}ms`,
    `--leader-election-retry-period=${retryMs}ms`,
  ];
  const server = servers[name];
  const implementation = implementations[name];
  return await ctx.startSidecar(program, {
    replica: name,
    args: [...election, ...args, ...argsOf(name)],
    ...(env !== undefined && { env }),
    ...(account !== undefined && { account }),
    ...(server !== undefined && { server }),
    ...(implementation !== undefined && { implementation }),
  });
}

export interface HandOver {
  readonly from: string;
  readonly goneMs: number;
}

/** The leader dies, the other leads, the dead one comes back as standby. */
export async function takeTurns(ctx: ScenarioContext, replicas: readonly Replica[]): Promise<HandOver> {
  const leader = await untilLed(ctx, replicas);
  await leader.process.destroy();
  const goneMs = ctx.testRun.clock.nowMs();
  await untilLed(ctx, replicas, { by: (name) => name !== leader.name });
  await leader.process.start();
  return { from: leader.name, goneMs };
}

/** Waits until the driver has received so many more calls than now, as proof that work continues. */
export async function untilMoreCalls(ctx: ScenarioContext, method: Method, more: number): Promise<void> {
  const count = async (): Promise<number> => (await callsOf(ctx.driver, method)).length;
  const before = await count();
  await ctx.eventually(`${more} more calls of ${method}`, async () => (await count()) >= before + more, 60_000);
}

const justBegunMs = 200;

/** Waits until a call has just begun: a leader that is killed now leaves it to the other replica. */
export async function untilCallBegins(ctx: ScenarioContext, method: Method): Promise<void> {
  await ctx.eventually(`a call of ${method} begins`, async () => {
    const sinceMs = ctx.testRun.clock.nowMs() - justBegunMs;
    return (await callsOf(ctx.driver, method)).some(
      ({ beganAtMs, endedAtMs }) => endedAtMs === undefined && beganAtMs >= sinceMs,
    );
  });
}

export async function holderOf(ctx: ScenarioContext, program: ControllerName): Promise<string> {
  return (await leaseOf(ctx, program)).spec?.holderIdentity ?? '';
}

export async function leaseOf(ctx: ScenarioContext, program: ControllerName): Promise<Lease> {
  return await ctx.api.get(leases, {
    namespace: ctx.namespace,
    name: leaseNameOf(subjects[program], ctx.driverName),
  });
}

/** A replica that is stopped while its first write of the Lease is under way holds it without knowing that it leads. A renewal proves it. */
export async function untilRenewed(ctx: ScenarioContext, { name, program }: Replica): Promise<void> {
  await ctx.eventually(`${name} renews its Lease`, async () => {
    const { spec } = await leaseOf(ctx, program);
    return spec?.holderIdentity === name && spec.renewTime !== spec.acquireTime;
  });
}

export async function untilLed(
  ctx: ScenarioContext,
  replicas: readonly Replica[],
  { by, timeoutMs }: { readonly by?: (name: string) => boolean; readonly timeoutMs?: number } = {},
): Promise<Replica> {
  return await ctx.eventually(
    'a replica leads',
    async () => {
      for (const replica of replicas) {
        const isHolder = (await holderOf(ctx, replica.program)) === replica.name;
        if (isHolder && (by === undefined || by(replica.name))) return replica;
      }
      return undefined;
    },
    timeoutMs,
  );
}
