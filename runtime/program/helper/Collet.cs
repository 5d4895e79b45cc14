// A game that is a program talks to Collet: Unity, Godot with C#, MonoGame and any other .NET. One file, C# 5, no package.
//
// Started without Collet, every call does nothing and returns false or null. UpdateAvailable and StopRequested read a small
// file: call them once a second, not once a frame. See docs/PROGRAMS.md, "Helper".

using System;
using System.IO;
using System.Text;

public static class Collet
{
    /// <summary>The game has started: the release has proven itself. Call it when the first frame is shown.</summary>
    public static bool Ready() { return Say("ready"); }

    /// <summary>What the game does before it is ready, in at most 1000 bytes of UTF-8.</summary>
    public static bool Progress(string text) { return Say("progress " + text); }

    /// <summary>The version of a newer release that is ready for the next start, or null.</summary>
    public static string UpdateAvailable() { return Find("update"); }

    /// <summary>Asks to be started again. The game then ends by itself, with a clean exit code.</summary>
    public static bool RestartToUpdate() { return Say("restart"); }

    /// <summary>Whether the game should save and end.</summary>
    public static bool StopRequested() { return Find("stop") != null; }

    private static bool Say(string line)
    {
        string name = Environment.GetEnvironmentVariable("COLLET_EVENTS");
        if (string.IsNullOrEmpty(name)) return false;
        byte[] data = new UTF8Encoding(false).GetBytes(line.Replace('\r', ' ').Replace('\n', ' ') + "\n");
        try
        {
            using (FileStream events = new FileStream(name, FileMode.Append, FileAccess.Write, FileShare.ReadWrite))
                events.Write(data, 0, data.Length);
            return true;
        }
        catch (IOException) { return false; }
        catch (UnauthorizedAccessException) { return false; }
    }

    private static string Find(string word)
    {
        string name = Environment.GetEnvironmentVariable("COLLET_STATE");
        if (string.IsNullOrEmpty(name)) return null;
        try
        {
            using (FileStream state = new FileStream(name, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete))
            using (StreamReader lines = new StreamReader(state, Encoding.UTF8))
                for (string line = lines.ReadLine(); line != null; line = lines.ReadLine())
                {
                    if (line == word) return "";
                    if (line.StartsWith(word + " ", StringComparison.Ordinal)) return line.Substring(word.Length + 1);
                }
        }
        catch (IOException) { }
        catch (UnauthorizedAccessException) { }
        return null;
    }
}
