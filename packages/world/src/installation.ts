// SPDX-License-Identifier: Apache-2.0
/** The sidecars of the story: which programs run in which containers, and how many of each. */
import type { CsiChannel } from '@csi-sidecars/csi';
import { leases, type Logger, type Transport } from '@csi-sidecars/runtime';
import type { Draw, FakeApiServer, Schedule, ScheduledProcess, TimeLine } from '@csi-sidecars/runtime/testing';
import { type Container, startContainer } from './container.ts';
import { leaseNamespace } from './names.ts';
import { linkChannel } from './channel-link.ts';
import type { DriverActor } from './driver.ts';
import type { Network } from './network.ts';
import { type ProgramName, programsFor } from './programs.ts';
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
  readonly logger: Logger;
}

export function startInstallation(deps: InstallationDeps): Installation {
  const { schedule, network, server, timeLine, drivers, draw, shape, logger } = deps;
  const defects: string[] = [];
  let calls = 0;
  const shortName = (method: string): string => method.split('/').at(-1) ?? '';

  function connect(actor: DriverActor, process: ScheduledProcess): CsiChannel | undefined {
    const { checks } = actor;
    if (!actor.isUp()) return undefined;
    process.onDeath(() => checks.afterDeath(process.name));
    return linkChannel({
      process,
      driver: actor.process,
      channel: actor.model.channel({ peer: process.name }),
      delayMs: () => Math.floor(draw('call', calls++) * 8),
      onCall: (method, request) => {
        timeLine.note(process.name, () => `${shortName(method)} ${JSON.stringify({ ...request, secrets: undefined })}`);
        checks.beforeCall(process.name, shortName(method), request);
      },
      onAnswer: (method, request, outcome) => {
        timeLine.note(process.name, () => `${shortName(method)} -> ${outcome}`);
        checks.answered({ process: process.name, method: shortName(method), request, code: outcome });
      },
      onEnd: (method, request, code) => {
        checks.afterCall(process.name, shortName(method), request);
        checks.heard({ process: process.name, method: shortName(method), request, code });
      },
    });
  }

  /** `one-leader`: only the holder of the Lease begins a write. */
  function watchedTransport(process: ScheduledProcess, { pod, names, onNode, actor }: Pod): Transport {
    const transport = network.transportFor(process);
    const [program, ...more] = names;
    // Several programs of one process have a Lease each, and their requests do not say whose they are.
    if (program === undefined || more.length > 0 || onNode !== undefined || shape.damage) return transport;
    const lease = { namespace: leaseNamespace, name: programsFor(shape)[program].lockName(actor.name) };
    return (request) => {
      const isExempt = request.method === 'GET' || /\/(leases|events)(\/|$)/.test(request.path);
      // One that stood still does not know it yet.
      const wasSuspended = process.suspendedUntilMs + graceMs > schedule.elapsedMs;
      if (!isExempt && !wasSuspended) {
        const holder = server.objects.get(leases, lease)?.spec?.holderIdentity ?? '';
        if (!holder.startsWith(`${pod}_`)) {
          actor.checks.breach(`one-leader: ${pod} begins ${request.method} ${request.path} while ${holder} leads`);
        }
      }
      return transport(request);
    };
  }

  const containers = podsOf(drivers, shape).map(({ pod, names, onNode, actor }) =>
    startContainer(
      names.map((name) => programsFor(shape, onNode)[name]),
      pod,
      {
        isElected: onNode === undefined,
        process: schedule.process,
        transport: (process) => watchedTransport(process, { pod, names, onNode, actor }),
        connect: (process) => connect(actor, process),
        info: actor.info,
        logger,
        note: (text) => timeLine.note(pod, text),
        onLoss: (process) => actor.checks.afterLoss(process.name),
        onDefect: (text) => void defects.push(text),
      },
    ),
  );
  return { containers, defects };
}

/** After it stood still, until it has noticed. */
const graceMs = 30_000;

interface Pod {
  readonly pod: string;
  readonly names: readonly ProgramName[];
  readonly actor: DriverActor;
  /** The instance of this node, which elects no leader. */
  readonly onNode?: number | undefined;
}

function podsOf(
  [main, ...others]: InstallationDeps['drivers'],
  { deployment, replicas, nodes }: Shape,
): readonly Pod[] {
  const replicated = (pod: string, names: readonly ProgramName[], actor = main): readonly Pod[] =>
    Array.from({ length: replicas }, (_, index) => ({ pod: `${pod}-${index}`, names, actor }));
  const onNodes = Array.from({ length: nodes }, (_, onNode): Pod => ({
    pod: `csi-provisioner-on-${onNode}`,
    names: ['csi-provisioner'],
    actor: main,
    onNode,
  }));
  const single = (wanted: readonly ProgramName[]): readonly Pod[] => wanted.flatMap((name) => replicated(name, [name]));
  const ofMain = {
    combined: () => replicated('csi-sidecars', main.programs),
    separate: () => single(main.programs),
    nodes: () => [...onNodes, ...single(main.programs.filter((name) => name !== 'csi-provisioner'))],
  };
  return [
    ...ofMain[deployment](),
    ...replicated('snapshot-controller', ['snapshot-controller']),
    ...others.flatMap((actor) => replicated(`plain-provisioner`, actor.programs, actor)),
  ];
}
