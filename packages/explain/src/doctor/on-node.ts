// SPDX-License-Identifier: Apache-2.0
/**
 * `csi-sidecars doctor node --node=N`: the commands that show on a node what no object of the cluster shows. They are printed, and a person runs
 * them; none of them changes anything.
 */
import { CommandError, exits } from '../command/exit-codes.ts';
import { forScreen, shellLine } from '../command/printable.ts';
import { missingJson, type MissingJson } from '../report/parts.ts';
import { argumentsOf } from './readings/arguments.ts';
import type { Registration, Workloads } from './readings/facts.ts';
import { type Gathering, isRead, orNothing, type Read } from './readings/source.ts';

export interface NodeCommand {
  /** Null: of the node itself. */
  readonly driver: string | null;
  /** What it shows, and how that looks if something is wrong. */
  readonly shows: string;
  readonly argv: readonly string[];
}

export interface NodeCommands {
  readonly apiVersion: 'csi-sidecars/v1';
  readonly kind: 'NodeCommands';
  readonly node: string;
  readonly commands: readonly NodeCommand[];
  /** What was not read: usual folders are taken then. */
  readonly missing: readonly MissingJson[];
  readonly exitCode: 0;
}

/** Rejects with a CommandError if there is no such node, or if it does not run Linux. */
export async function nodeCommandsOf({ get, scope }: Gathering, node: string): Promise<NodeCommands> {
  const [nodes, registrations, workloads] = [await get('nodes'), await get('registrations'), await get('workloads')];
  const found = orNothing(nodes).find(({ name }) => name === node);
  if (isRead(nodes) && found === undefined) throw new CommandError(exits.absent, `there is no node ${node}`);
  if (found?.labels['kubernetes.io/os'] === 'windows')
    throw new CommandError(exits.failed, `node ${node} runs Windows; the commands are those of Linux`);
  const sockets = socketsOf(isRead(workloads) ? workloads.value : undefined, {
    drivers: driversOn(node, { registrations: orNothing(registrations), driver: scope.driver }),
  });
  const reads: readonly Read<unknown>[] = [nodes, registrations, workloads];
  const missing = reads.flatMap((read) => (isRead(read) ? [] : read.missing));
  const roots = [...new Set(sockets.map(({ root }) => root))];
  return {
    apiVersion: 'csi-sidecars/v1',
    kind: 'NodeCommands',
    node,
    commands: [...ofNode(roots.length === 0 ? [usualRoot] : roots), ...sockets.flatMap(ofDriver)],
    missing: missing.map(missingJson),
    exitCode: exits.nothing,
  };
}

interface Asked {
  readonly registrations: readonly Registration[];
  readonly driver: string | undefined;
}

/** The one that is asked for; else those that kubelet knows there. */
function driversOn(node: string, { registrations, driver }: Asked): readonly string[] {
  if (driver !== undefined) return [driver];
  return (registrations.find((each) => each.node === node)?.drivers ?? []).map(({ name }) => name);
}

const usualRoot = '/var/lib/kubelet';
/** Nothing else becomes part of a command that a person runs as root. */
const plainPath = /^(\/(?!\.{1,2}(\/|$))[\w.-]+)+$/;
const plainName = /^[\w.-]+$/;

interface Socket {
  readonly driver: string;
  readonly root: string;
  readonly path: string;
}

/** Where the drivers say that their sockets are; without a registrar that says it, where they usually are. */
function socketsOf(
  workloads: Workloads | undefined,
  { drivers }: { readonly drivers: readonly string[] },
): readonly Socket[] {
  return drivers
    .filter((driver) => plainName.test(driver))
    .flatMap((driver) => {
      const given = (workloads?.of(driver) ?? []).flatMap(({ registrar }) => {
        const path = registrar && argumentsOf(registrar).values.get('kubelet-registration-path');
        const root = /^(.*)\/plugins\/[^/]+\/[^/]+$/.exec(path ?? '')?.[1];
        return path === undefined || !plainPath.test(path) ? [] : [{ driver, root: root ?? usualRoot, path }];
      });
      const usual = { driver, root: usualRoot, path: `${usualRoot}/plugins/${driver}/csi.sock` };
      const all = given.length === 0 ? [usual] : given;
      return [...new Map(all.map((socket) => [socket.path, socket])).values()];
    });
}

function ofNode(roots: readonly string[]): readonly NodeCommand[] {
  return [
    ...roots.flatMap((root): readonly NodeCommand[] => [
      {
        driver: null,
        shows:
          'mount propagation of the folder of kubelet: with "private", no pod sees what the driver mounts; it has to be "shared"',
        argv: ['findmnt', '-n', '-o', 'TARGET,PROPAGATION', '--target', root],
      },
      {
        driver: null,
        shows:
          'the registration sockets, with their SELinux labels: one for each driver; kubelet tries one without a process again and again',
        argv: ['ls', '-laZ', `${root}/plugins_registry`],
      },
    ]),
    {
      driver: null,
      shows: 'what SELinux has denied in the last ten minutes: a driver that may not use its socket or its devices',
      argv: ['ausearch', '-m', 'AVC', '-ts', 'recent'],
    },
    {
      driver: null,
      shows:
        'whether multipathd runs: it takes disks of drivers that do not use it, and drivers over iSCSI or Fibre Channel may need it',
      argv: ['systemctl', 'status', '--no-pager', 'multipathd'],
    },
    {
      driver: null,
      shows: 'what kubelet says of CSI: drivers that it cannot reach, volumes that it cannot mount or take down',
      argv: ['journalctl', '-u', 'kubelet', '--since=-1h', '--grep=csi', '--no-pager'],
    },
  ];
}

function ofDriver({ driver, root, path }: Socket): readonly NodeCommand[] {
  return [
    {
      driver,
      shows: 'the folder of the driver, which has to hold its socket',
      argv: ['ls', '-laZ', path.slice(0, path.lastIndexOf('/'))],
    },
    {
      driver,
      shows: 'who listens on the socket: without a line the driver does not run, or has its socket elsewhere',
      argv: ['ss', '-xlp', 'src', path],
    },
    {
      driver,
      shows: 'the volumes that are staged on the node: one folder for each',
      argv: ['ls', '-la', `${root}/plugins/kubernetes.io/csi/${driver}`],
    },
  ];
}

/** Lines for a shell: what is no command is a comment. */
export function nodeScreenOf({ node, commands, missing }: NodeCommands): string {
  const unread = missing.map(
    ({ verb, resource }) => `# not read: ${forScreen(`${verb} ${resource}`)}; usual folders are taken`,
  );
  const lines = commands.flatMap(({ driver, shows, argv }) => [
    '',
    `# ${driver === null ? '' : `${forScreen(driver)}: `}${shows}`,
    forScreen(shellLine(argv), 2_000),
  ]);
  return `${[`# on node ${forScreen(node)}, as root; nothing of it changes anything`, ...unread, ...lines].join('\n')}\n`;
}
