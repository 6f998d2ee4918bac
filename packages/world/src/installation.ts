// SPDX-License-Identifier: Apache-2.0
/** The sidecars of the story: which programs run in which containers, and how many of each. */
import type { CsiChannel } from '@csi-sidecars/csi';
import type { Transport } from '@csi-sidecars/runtime';
import type {
  Container,
  Draw,
  FakeApiServer,
  Schedule,
  ScheduledProcess,
  TimeLine,
} from '@csi-sidecars/runtime/testing';
import type { ProgramHost } from '@csi-sidecars/sidecar';
import { startProgram } from './container.ts';
import { linkChannel } from './channel-link.ts';
import type { DriverActor } from './driver.ts';
import { lookForSecrets } from './invariants/in-outputs.ts';
import { holderOf } from './leases.ts';
import { leaseNamespace, nodeIdOf, nodeName } from './names.ts';
import type { Striker } from './crash-points/strike.ts';
import type { Network } from './network.ts';
import { hostOf } from './process-host.ts';
import { argsOf, controllerOf, leaseOf, type ProgramName, runOf } from './programs.ts';
import type { Shape } from './story.ts';

export interface Installation {
  readonly containers: readonly Container[];
  readonly defects: readonly string[];
}

export interface InstallationDeps {
  readonly schedule: Schedule;
  readonly network: Network;
  readonly server: FakeApiServer;
  readonly timeLine: TimeLine;
  readonly drivers: readonly [DriverActor, ...DriverActor[]];
  readonly draw: Draw;
  readonly shape: Shape;
  readonly more: MoreOfPrograms;
}

/** What every program gets beside the command line of its chart. */
export interface MoreOfPrograms {
  readonly args?: readonly string[];
  readonly openMetrics?: ProgramHost['openMetrics'];
  readonly striker?: Striker;
  /** Whether the story may fall into a window that the provisioner's page documents. By default, if its shape has one. */
  readonly mayLeak?: boolean;
  /** Only these programs run, one of each, and without a Lease. */
  readonly only?: readonly ProgramName[];
  /** Whether invariants are looked at. Default true. */
  readonly isChecked?: boolean;
}

export function startInstallation(deps: InstallationDeps): Installation {
  const { schedule, network, server, timeLine, drivers, draw, shape, more } = deps;
  const defects: string[] = [];
  let calls = 0;
  const shortName = (method: string): string => method.split('/').at(-1) ?? '';

  function connect(actor: DriverActor, process: ScheduledProcess, onNode?: number): CsiChannel | undefined {
    const { checks } = actor;
    if (!actor.isUp()) return undefined;
    process.onDeath(() => checks.afterDeath(process.name));
    const channel = actor.model.channel({
      peer: process.name,
      ...(onNode === undefined ? {} : { nodeId: nodeIdOf(nodeName(onNode)) }),
    });
    // The controllers begin again with an empty memory, whether or not their process ends.
    channel.lost.addEventListener('abort', () => checks.afterDeath(process.name));
    const callOf = (method: string, request: object) => ({
      process: process.name,
      method: shortName(method),
      request: request as Readonly<Record<string, unknown>>,
    });
    return linkChannel({
      process,
      driver: actor.process,
      channel: more.striker?.atCalls(process, channel, () => actor.crash(driverDownMs)) ?? channel,
      delayMs: () => Math.floor(draw('call', calls++) * 8),
      onCall: (method, request) => {
        timeLine.note(process.name, () => `${shortName(method)} ${JSON.stringify({ ...request, secrets: undefined })}`);
        checks.beforeCall(callOf(method, request));
        // It was on its way when its process died.
        if (process.isDead) checks.afterCall(callOf(method, request));
      },
      onAnswer: (method, request, outcome) => {
        timeLine.note(process.name, () => `${shortName(method)} -> ${outcome}`);
        checks.answered({ ...callOf(method, request), code: outcome });
      },
      onEnd: (method, request, code) => {
        checks.afterCall(callOf(method, request));
        checks.heard({ ...callOf(method, request), code });
      },
    });
  }

  /** `one-leader`: only the holder of the Lease begins a write. */
  function watchedTransport(process: ScheduledProcess, { pod, names, onNode, actor }: Pod): Transport {
    const transport = network.transportFor(process);
    if (onNode !== undefined || shape.damage || more.only !== undefined) return transport;
    return (request) => {
      const [agent = '', component = ''] = (request.headers['user-agent'] ?? '').split('/');
      const program = names.find((name) => name === agent || controllerOf(name) === component);
      // Clients of leases have another name. What a process asks for at its start only reads, and a review of rights stores nothing.
      const isExempt =
        program === undefined ||
        request.method === 'GET' ||
        /\/(leases|events|selfsubject(rules|access)reviews)(\/|$)/.test(request.path);
      if (!isExempt) {
        const lease = leaseOf(program, actor.name);
        const holder = holderOf(server, lease);
        if (holder !== pod) {
          actor.checks.breach(`one-leader: ${pod} begins ${request.method} ${request.path} while ${holder} leads`);
        }
      }
      return transport(request);
    };
  }

  const { only } = more;
  const all = podsOf(drivers, shape);
  const pods = only === undefined ? all : all.filter(({ names }) => names.some((name) => only.includes(name)));
  const containers = pods.map((it) => {
    const { pod, names, onNode, actor } = it;
    return startProgram(pod, {
      process: schedule.process,
      host: (process) => {
        // The channel to the driver reports the death of any other program.
        if (names.includes('snapshot-controller')) process.onDeath(() => actor.checks.afterDeath(process.name));
        return hostOf({
          process,
          args: [
            ...argsOf(names, shape, onNode),
            ...(only === undefined ? [] : ['--leader-election=false']),
            ...(more.args ?? []),
          ],
          openMetrics: more.openMetrics,
          env: { NAMESPACE: leaseNamespace, ...(onNode === undefined ? {} : { NODE_NAME: nodeName(onNode) }) },
          hostName: pod,
          transport: watchedTransport(process, it),
          connect: () => connect(actor, process, onNode),
          onLogLine: shape.logs ? (line) => lookForSecrets(line, actor.checks.breach) : () => undefined,
        });
      },
      run: runOf(names),
      note: (text) => timeLine.note(pod, text),
      onDefect: (text) => void defects.push(text),
    });
  });
  return { containers, defects };
}

/** After a crash in a call. */
const driverDownMs = 500;

interface Pod {
  readonly pod: string;
  readonly names: readonly ProgramName[];
  readonly actor: DriverActor;
  /** The instance of this node, which elects no leader. */
  readonly onNode?: number | undefined;
}

function podsOf(
  [main, ...others]: InstallationDeps['drivers'],
  { deployment, replicas, nodes, snapshotsOnNodes, validator }: Shape,
): readonly Pod[] {
  const replicated = (pod: string, names: readonly ProgramName[], actor = main): readonly Pod[] =>
    Array.from({ length: replicas }, (_, index) => ({ pod: `${pod}-${index}`, names, actor }));
  const ofNodes: readonly ProgramName[] = [
    'csi-provisioner',
    ...(snapshotsOnNodes ? (['csi-snapshotter'] as const) : []),
  ];
  const onNodes = ofNodes.flatMap((name) =>
    Array.from({ length: nodes }, (_, onNode): Pod => ({
      pod: `${name}-on-${onNode}`,
      names: [name],
      actor: main,
      onNode,
    })),
  );
  const single = (wanted: readonly ProgramName[]): readonly Pod[] => wanted.flatMap((name) => replicated(name, [name]));
  const ofMain = {
    combined: () => replicated('csi-sidecars', main.programs),
    separate: () => single(main.programs),
    nodes: () => [...onNodes, ...single(main.programs.filter((name) => !ofNodes.includes(name)))],
  };
  return [
    ...ofMain[deployment](),
    ...replicated('snapshot-controller', ['snapshot-controller']),
    ...(validator === 'alone' ? replicated('volume-data-source-validator', ['volume-data-source-validator']) : []),
    ...others.flatMap((actor) => replicated(`plain-provisioner`, actor.programs, actor)),
  ];
}
