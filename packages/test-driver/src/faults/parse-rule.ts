// SPDX-License-Identifier: Apache-2.0
/** Parses a rule from outside. A misspelt field would make a fault that never happens, so unknown fields are refused. */
import { codeNames } from '@csi-sidecars/csi';
import { methods } from '../services/handlers.ts';
import type { FaultAction, FaultRule } from './rules.ts';

const ruleFields = ['method', 'volume', 'nodeId', 'secret', 'skip', 'times', 'at', 'action'];
const actionFields: Readonly<Record<FaultAction['kind'], readonly string[]>> = {
  delay: ['ms'],
  hang: [],
  fail: ['code', 'message'],
  drop: [],
  crash: [],
  answer: ['set', 'unset'],
};

export function parseRule(value: unknown): FaultRule {
  const rule = record(value, 'the rule');
  requireFields(rule, ruleFields);
  requireType(rule, 'string', ['method', 'volume', 'nodeId', 'at']);
  requireType(rule, 'number', ['skip', 'times']);
  const { method } = rule as { readonly method?: string };
  if (method !== undefined && !methods.some((name) => name === method || name.endsWith(`/${method}`))) {
    throw new Error(`there is no method ${method}`);
  }
  if (!['before', 'during', 'after', undefined].includes(rule['at'] as string | undefined)) {
    throw new Error(`at is ${String(rule['at'])}, not before, during or after`);
  }
  if (rule['secret'] !== undefined) requireFields(record(rule['secret'], 'secret'), ['key', 'value']);
  checkAction(record(rule['action'], 'action'));
  return rule as unknown as FaultRule;
}

function checkAction({ kind, ...action }: Record<string, unknown>): void {
  const fields =
    typeof kind === 'string' && Object.hasOwn(actionFields, kind) && actionFields[kind as FaultAction['kind']];
  if (!fields) throw new Error(`there is no action ${String(kind)}`);
  requireFields(action, fields);
  requireType(action, 'number', ['ms']);
  if (kind === 'delay' && action['ms'] === undefined) throw new Error('ms is missing');
  if (kind === 'fail' && (action['code'] === 'OK' || !(codeNames as readonly unknown[]).includes(action['code']))) {
    throw new Error(`there is no failure code ${String(action['code'])}`);
  }
}

function record(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Error(`${what} is not an object`);
}

function requireFields(value: Record<string, unknown>, known: readonly string[]): void {
  const unknown = Object.keys(value).filter((field) => !known.includes(field));
  if (unknown.length > 0) throw new Error(`unknown fields: ${unknown.join(', ')}`);
}

function requireType(value: Record<string, unknown>, type: 'string' | 'number', fields: readonly string[]): void {
  const wrong = fields.filter((field) => value[field] !== undefined && typeof value[field] !== type);
  if (wrong.length > 0) throw new Error(`not a ${type}: ${wrong.join(', ')}`);
}
