// A program whose stacks are known: Ask() writes what the runtime's own StackTrace says of its stack, and then calls getppid(2).
// usage: dotnet_stack FILE [COUNT [WARM [handlers]]]. Lines of FILE: for each stack its methods, innermost first, then an empty line. At least COUNT stacks; before them WARM rounds that write nothing, and
// a second: so its methods are compiled, and a tracer has seen them. handlers: in handlers of exceptions, which StackTrace shows without what threw.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

namespace Known.Stacks {
interface ISpeaks { void Speak(int n); int Number { get; } }
abstract class Animal : ISpeaks {
	public abstract void Speak(int n);
	public virtual int Number { get { Program.Ask(); return 1; } }
	public static implicit operator string(Animal a) { Program.Ask(); return "animal"; }
	public static Animal operator +(Animal a, Animal b) { Program.Ask(); return a; }
	public override bool Equals(object o) { Program.Ask(); return true; }
	public override int GetHashCode() { Program.Ask(); return 7; }
}
class Dog : Animal {
	public override void Speak(int n) { if (n > 0) Speak(n - 1); else Program.Ask(); }
	public override int Number => base.Number + 1;
	public Dog() { Program.Ask(); }
	static Dog() { Program.Ask(); }
	~Dog() { }
}
struct Cat : ISpeaks, IComparable<Cat> {
	public int Age;
	public void Speak(int n) { Program.Ask(); }
	public int Number => 3;
	public int CompareTo(Cat other) { if (Age % 16 == 0) Program.Ask(); return Age.CompareTo(other.Age); }
}
class Box<T> {
	public class Inner<U> {
		[MethodImpl(MethodImplOptions.NoInlining)] public static void Both(T t, U u) { Program.Ask(); }
		public struct Deep { [MethodImpl(MethodImplOptions.NoInlining)] public void Call<V>(V v) { Program.Ask(); } }
	}
	[MethodImpl(MethodImplOptions.NoInlining)] public V Map<V>(T t, Func<T, V> f) { return f(t); }
	public event Action<T> Happened;
	public void Happen(T t) { Happened?.Invoke(t); }
	public T this[int i] { get { Program.Ask(); return default; } }
}
static class Program {
	[DllImport("libc")] static extern int getppid();
	[DllImport("libc")] static extern void qsort(int[] v, nuint n, nuint size, Compare f);
	delegate int Compare(IntPtr a, IntPtr b);
	static StreamWriter o;
	public static int asked;

	static string Name(MethodBase m) {
		var t = m.DeclaringType;
		if (t == null)
			return m.Name;
		if (t.IsGenericType)
			t = t.GetGenericTypeDefinition();
		return t.FullName.Replace('+', '.') + "." + m.Name;
	}

	[MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)] public static void Ask() {
		var b = new StringBuilder();
		foreach (var f in new StackTrace().GetFrames())
			if (!f.GetMethod().Attributes.HasFlag(MethodAttributes.PinvokeImpl)) // what leads to C
				b.Append(Name(f.GetMethod())).Append('\n');
		if (o == null)
			return;
		lock (o) {
			o.Write(b.Append('\n').ToString());
			getppid();
			asked++;
		}
	}

	static IEnumerable<int> Numbers(int n) { for (int i = 0; i < n; i++) { Ask(); yield return i; } }
	[MethodImpl(MethodImplOptions.NoInlining)] static void Thrown(int n) {
		try { if (n == 0) throw new InvalidOperationException("x"); Thrown(n - 1); }
		catch (ArgumentException) { Ask(); }
		finally { Ask(); }
	}
	[MethodImpl(MethodImplOptions.NoInlining)] static bool Filter() { return true; }
	[MethodImpl(MethodImplOptions.NoInlining)] static void Exceptions() {
		try { Thrown(2); } catch (InvalidOperationException e) when (Filter()) { Ask(); GC.KeepAlive(e); }
	}
	static async Task<int> Awaits(int n) {
		if (n == 0) { await Task.Yield(); Ask(); return 1; }
		int x = await Awaits(n - 1);
		Ask();
		return x + 1;
	}
	[MethodImpl(MethodImplOptions.NoInlining)] static unsafe void Allocates(int n) { byte* p = stackalloc byte[n]; p[0] = 1; Ask(); if (n > 8) Allocates(n / 2); }
	[MethodImpl(MethodImplOptions.NoInlining)] static long Many(long a, long b, long c, long d, long e, long f, long g, long h, double i, double j) { Ask(); return a + b + c + d + e + f + g + h + (long)(i + j); }
	[MethodImpl(MethodImplOptions.NoInlining)] static void Large() { Span<long> v = stackalloc long[4000]; v[1] = 1; Ask(); }
	[MethodImpl(MethodImplOptions.NoInlining)] static int Switches(int n) {
		switch (n) { case 0: Ask(); return 1; case 1: Ask(); return 4; case 2: return Switches(0); case 3: Ask(); return 9; case 4: return Switches(1) + Switches(3); default: Ask(); return n; }
	}

	static void Once(Action dynamic, Func<int, int> compiled, Box<string> box) {
		ISpeaks[] all = { new Dog(), new Cat(), new Dog() };
		foreach (var s in all) { s.Speak(3); GC.KeepAlive(s.Number); }
		string text = new Dog();
		GC.KeepAlive(new Dog() + new Dog());
		var set = new HashSet<Animal> { new Dog(), new Dog() };
		var cats = Enumerable.Range(0, 20).Select(i => new Cat { Age = 32 - i }).ToArray();
		Array.Sort(cats);
		new List<Cat>(cats).Sort((a, b) => { if (a.Age == 20) Ask(); return b.Age - a.Age; });
		foreach (int i in Numbers(3).Where(x => { Ask(); return x > 0; }).OrderBy(x => -x)) Ask();
		Box<int>.Inner<string>.Both(1, "x"); Box<string>.Inner<object>.Both("x", 1); Box<Cat>.Inner<double>.Both(default, 1);
		new Box<int>.Inner<long>.Deep().Call("v"); new Box<object>.Inner<string>.Deep().Call(5);
		new Box<string>().Map("x", s => { Ask(); return s.Length; });
		new Box<long>().Map(5, s => { Ask(); return "y"; });
		box.Happen("event");
		GC.KeepAlive(box[3]);
		GC.KeepAlive(Awaits(2).Result);
		Allocates(64); Large();
		Many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
		for (int i = 0; i < 6; i++) Switches(i);
		var lazy = new Lazy<int>(() => { Ask(); return 5; });
		GC.KeepAlive(lazy.Value);
		dynamic();
		GC.KeepAlive(compiled(4));
		typeof(Program).GetMethod("Reflected", BindingFlags.Static | BindingFlags.NonPublic).Invoke(null, new object[] { 3 });
		Regex.Replace("abcabc", "b", m => { Ask(); return "x"; });
		string.Join(",", new[] { 1, 2 }.Select(x => { Ask(); return x; }));
		Parallel.For(0, 2, i => Ask());
		var t = new Thread(() => Ask()); t.Start(); t.Join();
		int[] v = { 3, 1, 2 };
		qsort(v, 3, 4, (a, b) => { Ask(); return Marshal.ReadInt32(a) - Marshal.ReadInt32(b); });
		var d = new SortedDictionary<string, int>(Comparer<string>.Create((a, b) => { Ask(); return string.CompareOrdinal(a, b); })) { ["a"] = 1, ["b"] = 2 };
		void Local(int n) { if (n == 0) Ask(); else Local(n - 1); }
		Local(3);
	}
	static int Reflected(int n) { Ask(); return n; }

	static Action Emitted() {
		var m = new DynamicMethod("Emitted", typeof(void), Type.EmptyTypes, typeof(Program).Module, true);
		var il = m.GetILGenerator();
		il.Emit(OpCodes.Call, typeof(Program).GetMethod("Ask"));
		il.Emit(OpCodes.Nop);
		il.Emit(OpCodes.Ret);
		return (Action)m.CreateDelegate(typeof(Action));
	}

	static void Main(string[] args) {
		int count = args.Length > 1 ? int.Parse(args[1]) : 1, warm = args.Length > 2 ? int.Parse(args[2]) : 0;
		var box = new Box<string>();
		box.Happened += x => Ask();
		box.Happened += delegate(string x) { Ask(); };
		var n = Expression.Parameter(typeof(int), "n");
		var compiled = Expression.Lambda<Func<int, int>>(Expression.Block(Expression.Call(typeof(Program).GetMethod("Ask")), Expression.Add(n, Expression.Constant(1))), n).Compile();
		var dynamic = Emitted();
		for (int i = 0; i < warm; i++) {
			Once(dynamic, compiled, box);
			Exceptions();
		}
		if (warm > 0)
			Thread.Sleep(1000);
		o = new StreamWriter(args[0]);
		while (asked < count)
			if (args.Length > 3)
				Exceptions();
			else
				Once(dynamic, compiled, box);
		o.Flush();
	}
}
}
