#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
/** `csi-runtime`, for the authors of controllers. Prints to stdout. Exit code 1: what was asked for cannot be made; 2: the command is wrong. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { manifestsText } from './manifests.ts';
import { typesText } from './types.ts';

const usage = `csi-runtime types FILE
    TypeScript of the custom resources that a file of CustomResourceDefinitions defines. Needs json-schema-to-typescript.
csi-runtime manifests MODULE --image=IMAGE [--namespace=NAMESPACE] [--replicas=NUMBER] [--ca=FILE]
    YAML for kubectl apply: account, roles, bindings and Deployment of the options of runController that the module exports as \`controller\`;
    for its webhooks a Service and their configurations, with the issuers of their certificate from a file, or from cert-manager.
    The namespace is the name of the controller unless it is given.
    The module is loaded, so it must start its program under \`if (import.meta.main)\` only.
`;

class UsageError extends Error {}

type Options = NonNullable<ParseArgsConfig['options']>;

function parse<O extends Options>(args: readonly string[], options: O) {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0) throw new UsageError('exactly one file must be given');
    return { values, file };
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError((error as Error).message);
  }
}

function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? undefined : end).some((arg) => arg === '--help' || arg === '-h');
}

async function run([command = '', ...args]: readonly string[]): Promise<string> {
  if (asksForHelp([command, ...args])) return usage;
  switch (command) {
    case 'types':
      return typesText(await readFile(parse(args, {}).file, 'utf8'));
    case 'manifests': {
      const text = { type: 'string' } as const;
      const { file, values } = parse(args, { image: text, namespace: text, replicas: text, ca: text });
      const { image, namespace, replicas, ca } = values;
      if (image === undefined) throw new UsageError('--image must be given');
      if (replicas !== undefined && !/^[0-9]{1,4}$/.test(replicas)) throw new UsageError('--replicas must be a number');
      const module = (await import(pathToFileURL(resolve(file)).href)) as { readonly controller?: unknown };
      return manifestsText(module.controller, {
        image,
        namespace,
        caBundle: ca === undefined ? undefined : await readFile(ca, 'utf8'),
        replicas: replicas === undefined ? undefined : Number(replicas),
      });
    }
    case 'help':
      return usage;
    default:
      throw new UsageError(command === '' ? 'a command must be given' : `there is no command ${command}`);
  }
}

try {
  process.stdout.write(await run(process.argv.slice(2)));
} catch (error) {
  const isUsage = error instanceof UsageError;
  process.stderr.write(`${isUsage ? `${usage}\n` : ''}csi-runtime: ${(error as Error).message}\n`);
  process.exitCode = isUsage ? 2 : 1;
}
