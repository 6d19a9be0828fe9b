import {
  ArrowLeftRight,
  Check,
  ChevronDown,
  ChevronLeft,
  ChevronRight,
  ChevronUp,
  Clock,
  Copy,
  Download,
  Ellipsis,
  File,
  Folder,
  FolderInput,
  GitPullRequest,
  type IconNode,
  KeyRound,
  Layers,
  LayoutDashboard,
  LogOut,
  Menu,
  MessageSquare,
  Minus,
  Pencil,
  Plus,
  RotateCcw,
  ScrollText,
  Search,
  Siren,
  SlidersHorizontal,
  SquareTerminal,
  Trash2,
  TriangleAlert,
  Upload,
  Webhook,
  X,
} from 'lucide';
import { h } from 'preact';

const ICONS = {
  audit: ScrollText,
  back: ChevronLeft,
  chevron: ChevronRight,
  check: Check,
  clock: Clock,
  close: X,
  comment: MessageSquare,
  compare: ArrowLeftRight,
  copy: Copy,
  directory: Folder,
  down: ChevronDown,
  download: Download,
  draft: GitPullRequest,
  edit: Pencil,
  file: File,
  incident: Siren,
  key: KeyRound,
  menu: Menu,
  minus: Minus,
  more: Ellipsis,
  move: FolderInput,
  overview: LayoutDashboard,
  plus: Plus,
  restore: RotateCcw,
  search: Search,
  settings: SlidersHorizontal,
  'sign-out': LogOut,
  tenants: Layers,
  terminal: SquareTerminal,
  trash: Trash2,
  up: ChevronUp,
  upload: Upload,
  warning: TriangleAlert,
  webhook: Webhook,
} as const satisfies Record<string, IconNode>;

export type IconName = keyof typeof ICONS;

/** A decorative icon. The text beside it must give the same information. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      {ICONS[name].map(([tag, attributes], index) => h(tag, { key: index, ...attributes }))}
    </svg>
  );
}
